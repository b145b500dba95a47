import { type ContainerImage, fillPlaceholders } from '@orrery/contract';
import { bind, type Common, common, confined, nanoCpus } from './container-config.js';
import { PROGRAM_FILES } from './program-view.js';

const NS_PER_S = 1e9;
/** Of each folder in memory; all of them count against the limit of memory, too. */
const SCRATCH_BYTES = 64 * 2 ** 20;
/** Counts as memory. */
const SHARED_MEMORY_BYTES = 16 * 2 ** 20;

type Values = Readonly<Record<string, unknown>>;

/** The image's words with its placeholders replaced; empty words are left out. */
const words = (all: readonly string[], values: Values): string[] =>
  all.map((word) => fillPlaceholders(word, values)).filter((word) => word !== '');

/** Docker checks the health of a container by itself, so that it goes on while there is no agent. */
function healthOf(image: ContainerImage, values: Values) {
  const { health } = image;
  if (!health || health.by === 'tcp') return { Test: ['NONE'] };
  const { interval_s, timeout_s, failures } = health;
  return {
    // Empty: that of the image.
    Test: health.by === 'command' ? ['CMD', ...words(health.command, values)] : [],
    Interval: interval_s * NS_PER_S,
    Timeout: timeout_s * NS_PER_S,
    Retries: failures,
  };
}

/**
 * A container of a user's image, in the network namespace of its holder. `files`: the folder on the host with what the
 * descriptor writes.
 */
export function imageConfig(of: Common, holder: string, image: ContainerImage, config: Values, files: string) {
  const { entrypoint, command, environment, writable, capabilities, limits } = image;
  const values = { ...config, near: 'near', far: 'far', dir: PROGRAM_FILES };
  const Env = Object.entries(environment).map(([name, text]) => `${name}=${fillPlaceholders(text, values)}`);
  return {
    ...common(of),
    ...(entrypoint ? { Entrypoint: words(entrypoint, values) } : {}),
    ...(command ? { Cmd: words(command, values) } : {}),
    Env,
    Healthcheck: healthOf(image, values),
    HostConfig: {
      ...confined,
      CapAdd: [...capabilities],
      NanoCpus: nanoCpus(of.cpu_limit, limits.cpus),
      Memory: limits.memory_bytes,
      MemorySwap: limits.memory_bytes,
      PidsLimit: limits.processes,
      IpcMode: 'private',
      ShmSize: Math.min(SHARED_MEMORY_BYTES, limits.memory_bytes),
      NetworkMode: `container:${holder}`,
      Mounts: [bind(files, PROGRAM_FILES, true)],
      Tmpfs: Object.fromEntries(
        writable.map((folder) => [folder, `size=${Math.min(SCRATCH_BYTES, limits.memory_bytes)},mode=1777`]),
      ),
    },
  };
}
