import type { Root, Type } from 'protobufjs';
import { p4InfoObject } from './p4-info-message.js';

interface Preamble {
  readonly id: number;
  readonly name: string;
}
interface Sized {
  readonly id: number;
  readonly name: string;
  readonly bitwidth: number;
}
export interface P4Action extends Preamble {
  readonly params: ReadonlyMap<string, Sized>;
}
export interface P4Table extends Preamble {
  readonly fields: readonly (Sized & { readonly matchType: string })[];
  readonly size: number;
}

interface Described {
  readonly preamble: Preamble;
  readonly matchFields?: readonly (Sized & { readonly matchType?: string })[];
  readonly params?: readonly Sized[];
  readonly size?: string | number;
}

type Kind = 'tables' | 'actions' | 'meters' | 'counters' | 'digests';

/** Tables, actions, meters, counters and digests of a program by the last part of their name, which must tell them apart. */
export class P4Info {
  readonly tables: ReadonlyMap<string, P4Table>;
  readonly actions: ReadonlyMap<string, P4Action>;
  /** Arrays of meters and of counters. */
  readonly meters: ReadonlyMap<string, Preamble>;
  readonly counters: ReadonlyMap<string, Preamble>;
  readonly digests: ReadonlyMap<string, Preamble>;

  /** `message`: for `SetForwardingPipelineConfig`. */
  constructor(readonly message: object) {
    const all = message as Partial<Record<Kind, Described[]>>;
    const { tables = [], actions = [], meters = [], counters = [], digests = [] } = all;
    this.meters = byName(meters.map(({ preamble }) => named(preamble)));
    this.counters = byName(counters.map(({ preamble }) => named(preamble)));
    this.digests = byName(digests.map(({ preamble }) => named(preamble)));
    this.tables = byName(
      tables.map(({ preamble, matchFields = [], size = 0 }) => ({
        ...named(preamble),
        fields: matchFields.map((field) => ({ ...field, matchType: field.matchType ?? 'UNSPECIFIED' })),
        size: Number(size),
      })),
    );
    this.actions = byName(
      actions.map(({ preamble, params = [] }) => ({
        ...named(preamble),
        params: new Map(params.map((param) => [param.name, param])),
      })),
    );
  }

  tableById(id: number): P4Table | undefined {
    return [...this.tables.values()].find((table) => table.id === id);
  }

  /** Of the text format, as p4c writes it. Throws an error that names the line. */
  static fromText(text: string, protocol: Root): P4Info {
    const type: Type = protocol.lookupType('p4.config.v1.P4Info');
    return new P4Info(p4InfoObject(text, type));
  }
}

const named = ({ id, name }: Preamble): Preamble => ({ id, name: name.slice(name.lastIndexOf('.') + 1) });

function byName<T extends Preamble>(all: readonly T[]): ReadonlyMap<string, T> {
  return new Map(all.map((one) => [one.name, one]));
}
