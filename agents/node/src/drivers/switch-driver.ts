import type {
  KeptFlowKey,
  ObservedPort,
  P4Cells,
  P4CellsRequest,
  P4ProgramFiles,
  P4Reading,
  PacketTraces,
  SwitchAbilities,
  SwitchSpec,
  TraceRequest,
} from '@orrery/contract';
import type { z } from 'zod';

export interface EntryCount {
  readonly packets: number;
  readonly bytes: number;
}

/** A flow that a switch keeps at a target by an entry of its own. */
export interface KeptFlow {
  readonly split: number;
  readonly flow_id: number;
  /** Destination MAC address of its packets: the tag of the target's hop. */
  readonly mac: string;
  readonly packets: number;
}

export interface LatencyStep {
  readonly about_us: number;
  readonly packets: number;
}

/** Counted since the switch began, of whichever rule had the place. */
export interface LatencyCounts {
  readonly place: number;
  readonly steps: readonly LatencyStep[];
}

/** What a switch holds now. */
export interface SwitchReading {
  readonly entries: number;
  /** Beside the entries. */
  readonly kept?: readonly KeptFlow[];
  /** By split, packets that the switch told of flows for which the split had no room, since the agent started; absent: none. */
  readonly without_room?: ReadonlyMap<number, number>;
  /** Packets of flows that were to be kept and got no entry, since the agent started, by reason in words; absent: none. */
  readonly unkept?: Readonly<Record<string, number>>;
  /** What it cannot do now although it holds all that it was told, in words; absent: nothing. */
  readonly trouble?: string;
  /** By index in the last applied specification. */
  readonly counts: ReadonlyMap<number, EntryCount>;
  /** What meters have dropped, by their ids; absent: there are none. */
  readonly metered?: ReadonlyMap<number, EntryCount>;
  /** Of rules: how many packets that were stamped took about so long; absent: it stamps none. */
  readonly latencies?: ReadonlyMap<string, LatencyCounts>;
  /** What others have changed since it was applied, in words; empty: nothing. */
  readonly drift: readonly string[];
  /** The rules of which entries were deleted or changed. */
  readonly drifted_rules: readonly string[];
}

/** One switch. Every call ends in bounded time, even if the switch hangs: it then rejects with the reason. */
export interface SwitchDriver {
  /** Name and version of the switch software, as it reports them. */
  describe(): Promise<string>;
  /**
   * Rejects with the reason unless the switch answers within the deadline. It waits for no other call, and is cheap enough
   * for several calls a second.
   */
  probe(deadlineMs: number): Promise<void>;
  /** The state of the named ports. */
  ports(names: readonly string[]): Promise<ObservedPort[]>;
  /**
   * Makes the switch hold exactly the specification. Entries that it already holds are not touched and keep their
   * counters. Entries that refer to a port without a number are left out.
   */
  apply(spec: SwitchSpec, ports: readonly ObservedPort[]): Promise<void>;
  read(): Promise<SwitchReading>;
  /** Of a switch that keeps flows: those of a split that have not ended. Rejects where that is not known, as with another program. */
  kept?(split: number): Promise<readonly KeptFlowKey[]>;
  /** Of a switch with the ability `traces`. Rejects with the reason if the switch refuses. */
  readonly tracer?: PacketTracer;
  /** Of a switch that takes programs of users. */
  readonly programs?: ProgramLoader;
}

/** Programs of users, which a specification names by their hash. */
export interface ProgramLoader {
  /** For the specifications that follow. */
  take(files: P4ProgramFiles): void;
  /** What the tables hold. Rejects with the reason if the switch runs no program of a user. */
  tables(): Promise<P4Reading>;
  cells(request: P4CellsRequest): Promise<P4Cells>;
}

export interface PacketTracer {
  arm(request: TraceRequest): Promise<void>;
  /** Those with a higher sequence number. */
  read(after: number): Promise<PacketTraces>;
}

/** A kind of switch: a folder beside this file and a line in `switch/switch-drivers.ts`. */
export interface SwitchDriverKind<Config extends z.ZodType = z.ZodType> {
  readonly kind: string;
  /** Configuration of a switch of this kind, besides its name and driver. */
  readonly config: Config;
  readonly abilities: SwitchAbilities;
  make(config: z.infer<Config>): SwitchDriver;
}
