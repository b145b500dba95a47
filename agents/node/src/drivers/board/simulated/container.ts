import { closeSync, openSync, readSync } from 'node:fs';
import type { LoadKind } from '@orrery/contract';

/**
 * Contents of the header of a bitstream container (fpga/board/image/header.h); the board verifies whether it can be
 * trusted.
 */
interface Container {
  kind: LoadKind;
  profile: string;
  region: string;
  shell: string;
  /** UUIDs by slot, one in a partial image; null: the slot stays empty. */
  modules: (string | null)[];
  payload_bytes: number;
}

const MAGIC = 'ORRYBIT1';
const HEADER_BYTES = 328;
const MAX_SLOTS = 8;
const KINDS: readonly (LoadKind | undefined)[] = [undefined, 'full', 'partial'];

/** Null if the file is not a container. */
export function readContainer(path: string): Container | null {
  const header = Buffer.alloc(HEADER_BYTES);
  const file = openSync(path, 'r');
  try {
    if (readSync(file, header, 0, HEADER_BYTES, 0) < HEADER_BYTES) return null;
  } finally {
    closeSync(file);
  }
  const kind = KINDS[header.readUInt32LE(8)];
  const count = header.readUInt32LE(12);
  if (header.toString('latin1', 0, 8) !== MAGIC || !kind || count > MAX_SLOTS) return null;
  return {
    kind,
    profile: text(header, 16),
    region: text(header, 48),
    shell: uuid(header, 80) ?? '',
    modules: Array.from({ length: count }, (_, slot) => uuid(header, 96 + 16 * slot)),
    payload_bytes: Number(header.readBigUInt64LE(224)),
  };
}

function text(header: Buffer, offset: number): string {
  const field = header.toString('latin1', offset, offset + 32);
  return field.slice(0, field.indexOf('\0') < 0 ? undefined : field.indexOf('\0'));
}

function uuid(header: Buffer, offset: number): string | null {
  const hex = header.toString('hex', offset, offset + 16);
  return /^0*$/.test(hex) ? null : hex.replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-');
}
