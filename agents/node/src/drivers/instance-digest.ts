import { createHash } from 'node:crypto';
import type { InstanceSpec } from '@orrery/contract';

export const digestOf = (value: unknown): string =>
  createHash('sha256').update(JSON.stringify(value)).digest('base64url').slice(0, 22);

/** What a process is made from; it is not restarted if only its wiring changes. */
export const processDigest = ({ nf, config, program }: InstanceSpec): string => digestOf([nf, config, program]);

/** What a container is made from. */
export const containerDigest = (instance: InstanceSpec): string => {
  const { nf, config, metadata, program, image, cpu_limit, acceleration } = instance;
  const more = [program, image, cpu_limit, acceleration].filter((part) => part !== undefined);
  return digestOf([nf, config, metadata, ...more]);
};

/** What the content of a slot is made from; at a switch also where frames go next, which its shell writes. */
export const boardDigest = ({ nf, config, metadata, board, outputs, return_to }: InstanceSpec): string =>
  digestOf([nf, config, metadata, board, ...(board?.attached === 'switch' ? [outputs, return_to] : [])]);
