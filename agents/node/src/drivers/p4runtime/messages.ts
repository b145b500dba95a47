/**
 * What of the protocol P4Runtime 1.4 the drivers use, as `@grpc/proto-loader` reads it: names in camel case, bytes as
 * buffers, 64-bit numbers as strings, oneofs as plain fields, fields with their default left out.
 */
export interface FieldMatch {
  readonly fieldId: number;
  readonly exact?: { readonly value: Buffer };
  readonly ternary?: { readonly value: Buffer; readonly mask: Buffer };
  readonly range?: { readonly low: Buffer; readonly high: Buffer };
  readonly lpm?: { readonly value: Buffer; readonly prefixLen?: number };
  readonly optional?: { readonly value: Buffer };
}

export interface Action {
  readonly actionId: number;
  readonly params?: readonly { readonly paramId: number; readonly value: Buffer }[];
}

export interface CounterData {
  readonly byteCount?: string;
  readonly packetCount?: string;
}

export interface TableEntry {
  readonly tableId: number;
  readonly match?: readonly FieldMatch[];
  readonly action?: { readonly action?: Action };
  readonly priority?: number;
  readonly counterData?: CounterData;
  /** Of whoever wrote it. */
  readonly metadata?: Buffer;
  readonly isDefaultAction?: boolean;
  /** Without a packet for so long, the device tells of it. */
  readonly idleTimeoutNs?: string;
  /** In a read of one table: asks for it. */
  readonly timeSinceLastHit?: { readonly elapsedNs?: string };
}

export interface Replica {
  readonly egressPort: number;
  readonly instance: number;
}

export interface MulticastGroup {
  readonly multicastGroupId: number;
  readonly replicas?: readonly Replica[];
}

/** One cell of an array; without an index all of them. */
export interface CounterEntry {
  readonly counterId: number;
  readonly index?: { readonly index?: string };
  readonly data?: CounterData;
}
export interface RegisterEntry {
  readonly registerId: number;
  readonly index?: { readonly index?: string };
  readonly data?: { readonly bitstring?: Buffer };
}

/** Of an array. Index left out: all. */
export interface MeterEntry {
  readonly meterId: number;
  readonly index?: { readonly index?: string };
  /** Committed and peak rate, in units a second; absent: none, and everything passes. */
  readonly config?: {
    readonly cir?: string;
    readonly cburst?: string;
    readonly pir?: string;
    readonly pburst?: string;
  } | null;
}

/** Whether and how the device tells of a digest. */
export interface DigestEntry {
  readonly digestId: number;
  readonly config?: {
    readonly maxTimeoutNs?: string;
    readonly maxListSize?: number;
    readonly ackTimeoutNs?: string;
  };
}

/** Digests of packets; each a struct of values, in the order of the program. */
export interface DigestList {
  readonly digestId: number;
  readonly listId: string;
  readonly data?: readonly { readonly struct?: { readonly members?: readonly { readonly bitstring?: Buffer }[] } }[];
}

/** What the device tells its primary controller by itself. */
export interface Notice {
  readonly digest?: DigestList;
  readonly idleTimeoutNotification?: { readonly tableEntry?: readonly TableEntry[] };
}

export interface Entity {
  readonly tableEntry?: TableEntry;
  readonly meterEntry?: MeterEntry;
  readonly counterEntry?: CounterEntry;
  readonly registerEntry?: RegisterEntry;
  readonly digestEntry?: DigestEntry;
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

/** Halves of a number of 128 bits. */
export interface ElectionId {
  readonly high: string;
  readonly low: string;
}

/** Of a stream's reply: who may write. Code 0: this client. */
export interface Arbitration {
  /** The highest that the device has seen. */
  readonly electionId?: Partial<ElectionId>;
  readonly status?: { readonly code?: number; readonly message?: string };
}
