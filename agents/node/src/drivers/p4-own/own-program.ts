import { type P4Action, type P4Content, type P4ProgramFiles, type P4Table, readP4Info } from '@orrery/contract';
import type { PipelineConfig } from '../p4runtime/messages.js';
import { p4InfoObject } from '../p4runtime/p4-info-message.js';
import { protocol } from '../p4runtime/protocol.js';

/** A program of a user, ready to be set. */
export interface OwnProgram {
  readonly hash: string;
  readonly content: P4Content;
  /** Tells the program from others. */
  readonly cookie: string;
  readonly config: PipelineConfig;
}

/** Throws an error that names what of P4Info is wrong. */
export async function loadOwnProgram({ hash, bmv2_json, p4info }: P4ProgramFiles): Promise<OwnProgram> {
  const { root } = await protocol();
  return {
    hash,
    content: readP4Info(p4info),
    cookie: cookieOf(hash),
    config: {
      p4info: p4InfoObject(p4info, root.lookupType('p4.config.v1.P4Info')),
      p4DeviceConfig: Buffer.from(bmv2_json),
      cookie: { cookie: cookieOf(hash) },
    },
  };
}

const cookieOf = (hash: string) => BigInt(`0x${hash.slice(0, 16)}`).toString();

export const tableOf = ({ content }: OwnProgram, id: number): P4Table | undefined =>
  content.tables.find((table) => table.id === id);

export const actionOf = ({ content }: OwnProgram, id: number): P4Action | undefined =>
  content.actions.find((action) => action.id === id);
