import {
  type ContainerImage,
  type FieldError,
  type Implementation,
  type LegacyProgram,
  type NfDescriptor,
  PROGRAM_NAMES,
  placeholdersOf,
} from '@orrery/contract';
import { schemaFindings } from '@orrery/planner';
import { imageErrors, imageTexts, type PointedText } from './check-image.js';
import { configSchemaErrors } from './config-schema.js';

const PROGRAM = '/implementations/0/program';
const IMAGE = '/implementations/0/image';
const SEEN_IN_CONTAINERS = ['/usr/', '/bin/', '/sbin/'];
const EXECUTABLE = /^(\/[^\s\0]{1,200}|[A-Za-z0-9][A-Za-z0-9._+-]{0,60})$/;

const at = (pointer: string, detail: string, code: string): FieldError => ({ pointer, detail, code });

/** Checks of a legacy NF beyond the schema: it can be run, and says of packets only what its forwarding allows. */
export function legacyNfErrors(descriptor: NfDescriptor): FieldError[] {
  const [implementation, contained, ...others] = descriptor.implementations;
  const { kind, driver, program, image } = implementation!;
  if (image) return imageNfErrors(image, descriptor);
  if (contained?.image)
    return [
      at('/implementations/1/image', 'must be absent: an image is the only implementation', 'bad-implementation'),
    ];
  if (others.length > 0)
    return [
      at(
        '/implementations/2',
        'is one too many: a legacy NF is a process, and may be a container',
        'bad-implementation',
      ),
    ];
  if (kind !== 'software' || driver !== 'process')
    return [at('/implementations/0/driver', 'must be "process", of kind "software"', 'bad-implementation')];
  if (!program) return [at(PROGRAM, 'is missing: what is it to run?', 'required')];
  return [
    ...(contained ? [...containerErrors(contained), ...unseenErrors(program)] : []),
    ...commandErrors(program),
    ...placeholderErrors(textsOf(program), descriptor),
    ...fileErrors(program.files, PROGRAM),
    ...forwardingErrors(program, descriptor, PROGRAM),
    ...commonErrors(descriptor),
  ];
}

/** RFC 2606: names under `example` stand for others, as in the template of a new NF. */
function placeholderRegistryErrors({ reference }: ContainerImage): FieldError[] {
  if (!/^registry\.example[:/]/.test(reference)) return [];
  return [at(`${IMAGE}/reference`, 'names no registry: registry.example stands for yours', 'placeholder')];
}

function imageNfErrors(image: ContainerImage, descriptor: NfDescriptor): FieldError[] {
  const [{ kind, driver, program }, another] = descriptor.implementations as [Implementation, Implementation?];
  if (another)
    return [at('/implementations/1', 'is one too many: an image is the only implementation', 'bad-implementation')];
  if (kind !== 'container' || driver !== 'container')
    return [at('/implementations/0/driver', 'must be "container", of kind "container"', 'bad-implementation')];
  if (program) return [at(PROGRAM, 'must be absent: the image has the program', 'bad-implementation')];
  return [
    ...placeholderRegistryErrors(image),
    ...imageErrors(image, descriptor, IMAGE),
    ...placeholderErrors(imageTexts(image, IMAGE), descriptor),
    ...fileErrors(image.files, IMAGE),
    ...forwardingErrors(image, descriptor, IMAGE),
    ...commonErrors(descriptor),
  ];
}

function commonErrors(descriptor: NfDescriptor): FieldError[] {
  return [
    ...switchErrors(descriptor),
    ...packetErrors(descriptor),
    ...scaleErrors(descriptor),
    ...configErrors(descriptor),
  ];
}

/** Another configuration restarts it. */
function switchErrors({ acceleration }: NfDescriptor): FieldError[] {
  if (!acceleration) return [];
  return [at('/acceleration', 'must be absent: a legacy NF cannot be switched while it runs', 'not-possible')];
}

/** A schema that is wrong says nothing of the default configuration. */
function configErrors(descriptor: NfDescriptor): FieldError[] {
  const inSchema = configSchemaErrors(descriptor.config_schema);
  if (inSchema.length > 0) return inSchema;
  return schemaFindings(descriptor, descriptor.default_config).map(({ pointer, message, isOfSchema }) =>
    isOfSchema ? at('/config_schema', message, 'bad-schema') : at(`/default_config${pointer}`, message, 'bad-config'),
  );
}

/** Its container runs the program of its process. */
function containerErrors({ kind, driver, program }: Implementation): FieldError[] {
  const AT = '/implementations/1';
  if (kind !== 'container' || driver !== 'container')
    return [at(`${AT}/driver`, 'must be "container", of kind "container"', 'bad-implementation')];
  return program ? [at(`${AT}/program`, 'must be absent: it is that of the process', 'bad-implementation')] : [];
}

/** A container has no programs of its server but those below the folders of hier(7). */
function unseenErrors(program: LegacyProgram): FieldError[] {
  return commandsOf(program).flatMap(({ pointer, words: [executable] }) =>
    executable!.startsWith('/') && !SEEN_IN_CONTAINERS.some((folder) => executable!.startsWith(folder))
      ? [at(`${pointer}/0`, `must be below ${SEEN_IN_CONTAINERS.join(', ')} to run in a container`, 'bad-command')]
      : [],
  );
}

function commandErrors({ forwarding, setup, command, report }: LegacyProgram): FieldError[] {
  const isIdle = !command && (forwarding === 'program' || forwarding === 'tap' || setup.length === 0);
  return [
    ...(isIdle ? [at(`${PROGRAM}/command`, `is missing: with "${forwarding}" nothing would be done`, 'required')] : []),
    ...(report && !command
      ? [at(`${PROGRAM}/report`, 'must be absent without a command: no program runs that could report', 'not-possible')]
      : []),
    ...commandsOf({ setup, command, report }).flatMap(({ pointer, words }) =>
      EXECUTABLE.test(words[0]!)
        ? []
        : [
            at(
              `${pointer}/0`,
              'must be the name of a program or its absolute path, without placeholders',
              'bad-command',
            ),
          ],
    ),
  ];
}

function commandsOf({ setup, command, report }: Pick<LegacyProgram, 'setup' | 'command' | 'report'>) {
  return [
    ...setup.map((words, i) => ({ pointer: `${PROGRAM}/setup/${i}`, words })),
    ...(command ? [{ pointer: `${PROGRAM}/command`, words: command }] : []),
    ...(report ? [{ pointer: `${PROGRAM}/report`, words: report }] : []),
  ];
}

function textsOf(program: LegacyProgram): PointedText[] {
  return [
    ...commandsOf(program).flatMap(({ pointer, words }) =>
      words.map((text, i) => ({ pointer: `${pointer}/${i}`, text })),
    ),
    ...program.files.map(({ content }, i) => ({ pointer: `${PROGRAM}/files/${i}/content`, text: content })),
  ];
}

/** Every placeholder is a name of ours or a field of the configuration. */
function placeholderErrors(texts: readonly PointedText[], { config_schema }: NfDescriptor): FieldError[] {
  const { properties } = config_schema;
  const fields = typeof properties === 'object' && properties !== null ? Object.keys(properties) : [];
  const known = new Set<string>([...PROGRAM_NAMES, ...fields]);
  return texts.flatMap(({ pointer, text }) =>
    [...new Set(placeholdersOf(text))]
      .filter((name) => !known.has(name))
      .map((name) =>
        at(
          pointer,
          `{{${name}}} is neither ${PROGRAM_NAMES.join(', ')} nor a field of /config_schema`,
          'unknown-placeholder',
        ),
      ),
  );
}

function fileErrors(files: LegacyProgram['files'], of: string): FieldError[] {
  const names = new Set<string>();
  return files.flatMap(({ name }, i) => {
    const isTaken = names.has(name) || RESERVED.has(name);
    names.add(name);
    return isTaken ? [at(`${of}/files/${i}/name`, `${name} is in use`, 'duplicate-id')] : [];
  });
}

/** Files of the agent in the folder of an instance. */
const RESERVED = new Set(['record.json', 'config.json', 'holder.pid', 'holder.log', 'nf.pid', 'nf.log']);

function forwardingErrors(
  { forwarding, preserves }: Pick<LegacyProgram, 'forwarding' | 'preserves'>,
  descriptor: NfDescriptor,
  of: string,
): FieldError[] {
  const { actions, return_traffic, unsupported = [] } = descriptor;
  const errors: FieldError[] = [];
  if (forwarding === 'route') {
    if (preserves.length > 0)
      errors.push(at(`${of}/preserves`, 'must be empty: a router writes the Ethernet addresses anew', 'not-preserved'));
    if (!unsupported.some(({ traffic, action }) => traffic === 'ipv6' && action === 'drop'))
      errors.push(at('/unsupported', 'must say that IPv6 is dropped: IPv4 alone is routed', 'not-supported'));
  }
  if (forwarding === 'tap' && actions.may_drop)
    errors.push(at('/actions/may_drop', 'must be false: packets pass a tap whatever its program does', 'not-possible'));
  if (forwarding === 'tap' && actions.writes.length + actions.adds.length + actions.removes.length > 0)
    errors.push(at('/actions/writes', 'must be empty, as `adds` and `removes`: a tap changes nothing', 'not-possible'));
  if (actions.answers && !return_traffic)
    errors.push(
      at('/actions/answers', 'must be false without `return_traffic`: answers leave as replies', 'not-possible'),
    );
  if (return_traffic && (forwarding === 'bridge' || forwarding === 'tap'))
    errors.push(at('/return_traffic', `must be false with "${forwarding}"`, 'not-possible'));
  return errors;
}

/** Costs can only be proportional to a number that chains can set. */
function scaleErrors({ implementations, config_schema: { properties } }: NfDescriptor): FieldError[] {
  return implementations.flatMap(({ cost: { scales_with } }, i) => {
    const schema = scales_with && ((properties ?? {}) as Record<string, unknown>)[scales_with.field];
    const type = typeof schema === 'object' && schema !== null && 'type' in schema ? schema.type : null;
    if (!scales_with || type === 'integer' || type === 'number') return [];
    const pointer = `/implementations/${i}/cost/scales_with/field`;
    return [at(pointer, `must be a number in /config_schema, which ${scales_with.field} is not`, 'unknown-field')];
  });
}

/** What only an NF that knows Orrery could do. */
function packetErrors({ attributes, actions, offload }: NfDescriptor): FieldError[] {
  return [
    ...(attributes.length > 0
      ? [at('/attributes', 'must be empty: an unmodified program cannot attach attributes to packets', 'not-possible')]
      : []),
    ...(actions.refuses
      ? [at('/actions/refuses', 'must be absent: drops of the program are not counted by reason', 'not-possible')]
      : []),
    ...(offload ? [at('/offload', 'must be absent: no switch runs the program', 'not-possible')] : []),
  ];
}

/** Whether a semantic version is higher than another. */
export function isNewer(version: string, than: string): boolean {
  const [a, b] = [version, than].map((it) => it.split('.').map(Number));
  const differs = a!.findIndex((part, i) => part !== b![i]);
  return differs >= 0 && a![differs]! > b![differs]!;
}
