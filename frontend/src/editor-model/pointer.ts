/** A JSON Pointer (RFC 6901) to the part at a path. */
export function pointerOf(path: readonly PropertyKey[]): string {
  return path.map((step) => `/${String(step).replaceAll('~', '~0').replaceAll('/', '~1')}`).join('');
}

/** The field that a JSON Pointer leads to, as people write it: `title`, `nodes[5].kind`; empty for the whole document. */
export function fieldText(pointer: string): string {
  const steps = pathOf(pointer).map((step) => (/^\d+$/.test(step) ? `[${step}]` : `.${step}`));
  return steps.join('').replace(/^\./, '');
}

/** The path of a JSON Pointer. */
export function pathOf(pointer: string): string[] {
  return pointer
    .split('/')
    .slice(1)
    .map((step) => step.replaceAll('~1', '/').replaceAll('~0', '~'));
}
