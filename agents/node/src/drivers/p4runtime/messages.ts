/**
 * What of the protocol P4Runtime 1.4 the drivers use, as `@grpc/proto-loader` reads it: names in camel case, bytes as
 * buffers, 64-bit numbers as strings, oneofs as plain fields, fields with their default left out.
 */
export interface FieldMatch {
  readonly fieldId: number;
  readonly exact?: { readonly value: Buffer };
  readonly ternary?: { readonly value: Buffer; readonly mask: Buffer };
  readonly range?: { readonly low: Buffer; readonly high: Buffer };
}

export interface Action {
  readonly actionId: number;
  readonly params?: readonly { readonly paramId: number; readonly value: Buffer }[];
}

export interface TableEntry {
  readonly tableId: number;
  readonly match?: readonly FieldMatch[];
  readonly action?: { readonly action?: Action };
  readonly priority?: number;
  readonly counterData?: { readonly byteCount?: string; readonly packetCount?: string };
  readonly isDefaultAction?: boolean;
}

export interface Replica {
  readonly egressPort: number;
  readonly instance: number;
}

export interface MulticastGroup {
  readonly multicastGroupId: number;
  readonly replicas?: readonly Replica[];
}

export interface Entity {
  readonly tableEntry?: TableEntry;
  readonly packetReplicationEngineEntry?: { readonly multicastGroupEntry?: MulticastGroup };
}

export interface Update {
  readonly type: 'INSERT' | 'MODIFY' | 'DELETE';
  readonly entity: Entity;
}

/** `p4Info` is a message, its content as `p4Info.ts` reads it. */
export interface PipelineConfig {
  readonly p4info?: object;
  readonly p4DeviceConfig?: Buffer;
  readonly cookie?: { readonly cookie?: string };
}

/** Of a stream's reply: who may write. Code 0: this client. */
export interface Arbitration {
  readonly status?: { readonly code?: number; readonly message?: string };
}
