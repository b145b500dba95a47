import type { ContainerImage, FieldError, NfDescriptor } from '@orrery/contract';

/** A text of a descriptor, and where it is. */
export interface PointedText {
  readonly pointer: string;
  readonly text: string;
}

/** Checks of an image beyond the schema; `of`: where it is in the descriptor. */
export function imageErrors(image: ContainerImage, descriptor: NfDescriptor, of: string): FieldError[] {
  return [...limitErrors(image, descriptor, of), ...healthErrors(image, of), ...folderErrors(image, of)];
}

/** Texts of an image in which placeholders are replaced. */
export function imageTexts(image: ContainerImage, of: string): PointedText[] {
  const words = (name: string, all: readonly string[] = []) =>
    all.map((text, i) => ({ pointer: `${of}/${name}/${i}`, text }));
  const check = image.health?.by === 'command' ? image.health.command : [];
  return [
    ...words('entrypoint', image.entrypoint),
    ...words('command', image.command),
    ...words('health/command', check),
    ...Object.entries(image.environment).map(([name, text]) => ({ pointer: `${of}/environment/${name}`, text })),
    ...image.files.map(({ content }, i) => ({ pointer: `${of}/files/${i}/content`, text: content })),
  ];
}

function limitErrors({ limits }: ContainerImage, { implementations }: NfDescriptor, of: string): FieldError[] {
  const planned = implementations[0]!.cost.memory_bytes;
  if (limits.memory_bytes >= planned) return [];
  const detail = `must be at least ${planned} bytes, which /implementations/0/cost/memory_bytes plans for it`;
  return [{ pointer: `${of}/limits/memory_bytes`, detail, code: 'too-small' }];
}

function healthErrors({ health }: ContainerImage, of: string): FieldError[] {
  if (!health) return [];
  const { interval_s, timeout_s, start_s } = health;
  if (timeout_s > start_s) {
    const detail = `must be at most ${start_s} s: a container that is not healthy by then has failed`;
    return [{ pointer: `${of}/health/timeout_s`, detail, code: 'too-large' }];
  }
  // The agent checks a TCP port from the start.
  const first_s = health.by === 'tcp' ? timeout_s : interval_s + timeout_s;
  if (first_s <= start_s) return [];
  const detail = `must be at least ${first_s} s (interval_s + timeout_s): Docker checks for the first time after interval_s`;
  return [{ pointer: `${of}/health/start_s`, detail, code: 'too-small' }];
}

function folderErrors({ writable }: ContainerImage, of: string): FieldError[] {
  return writable.flatMap((folder, i) =>
    writable.indexOf(folder) === i
      ? []
      : [{ pointer: `${of}/writable/${i}`, detail: `${folder} is there twice`, code: 'duplicate-id' }],
  );
}
