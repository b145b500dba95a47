import type { InstanceSpec, LegacyProgram } from '@orrery/contract';
import type { InstanceRecord } from '../hosted-instance.js';
import { DriverError, unknownNf } from '../nf-driver.js';
import type { InstalledNf } from './registry.js';

type Asked = Pick<InstanceRecord, 'nf' | 'program'>;

/**
 * The programs that an agent runs as legacy NFs: those that came with it, which are never replaced by what a server says,
 * and those of users if its operator lets it.
 */
export class Programs {
  private readonly byNf: ReadonlyMap<string, InstalledNf>;

  constructor(
    readonly installed: readonly InstalledNf[],
    /** Whether programs of descriptors that users wrote are run. */
    readonly runsAny: boolean,
  ) {
    this.byNf = new Map(installed.map((nf) => [nf.nf, nf]));
  }

  /** What is run for an NF; undefined: it is no program. */
  of({ nf, program }: Asked): LegacyProgram | undefined {
    return this.byNf.get(nf)?.program ?? program;
  }

  /** The folder of an NF that came with the agent. */
  directoryOf(nf: string): string | null {
    return this.byNf.get(nf)?.directory ?? null;
  }

  /** Why an instance must not run. */
  refusal({ nf, program, instance_id }: InstanceRecord, kind: InstanceSpec['driver']): DriverError | null {
    if (this.byNf.has(nf)) return null;
    if (!program) return unknownNf(kind, nf, [...this.byNf.keys()]);
    if (this.runsAny) return null;
    return new DriverError(
      `this node does not run the programs of users: its operator has to start the agent with --legacy-nfs on`,
      instance_id,
      true,
    );
  }
}
