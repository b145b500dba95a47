import type { ContainerImage, InstanceSpec, LegacyProgram } from '@orrery/contract';
import type { InstanceRecord } from '../hosted-instance.js';
import { DriverError, unknownNf } from '../nf-driver.js';
import type { InstalledNf, ShippedImage } from './registry.js';

type Asked = Pick<InstanceRecord, 'nf' | 'program' | 'image'>;

/**
 * The programs and images that an agent runs as NFs: those that came with it, which are never replaced by what a server
 * says, and those of users if its operator lets it.
 */
export class Programs {
  private readonly byNf: ReadonlyMap<string, InstalledNf>;
  private readonly images: ReadonlyMap<string, ContainerImage>;

  constructor(
    readonly installed: readonly InstalledNf[],
    /** Whether programs of descriptors that users wrote are run. */
    readonly runsAny: boolean,
    shipped: readonly ShippedImage[] = [],
  ) {
    this.images = new Map(shipped.map(({ nf, image }) => [nf, image]));
    this.byNf = new Map(installed.map((nf) => [nf.nf, nf]));
  }

  /** What is run for an NF; undefined: it is no program. */
  of(asked: Asked): LegacyProgram | undefined {
    const image = this.imageOf(asked);
    return image ? programOf(image) : (this.byNf.get(asked.nf)?.program ?? asked.program);
  }

  /** The image that runs an NF in containers; undefined: it has none. */
  imageOf({ nf, image }: Asked): ContainerImage | undefined {
    return this.images.get(nf) ?? (this.byNf.has(nf) ? undefined : image);
  }

  /** The folder of an NF that came with the agent. */
  directoryOf(nf: string): string | null {
    return this.byNf.get(nf)?.directory ?? null;
  }

  /** Why an instance must not run. */
  refusal(record: InstanceRecord, kind: InstanceSpec['driver']): DriverError | null {
    const { nf, instance_id } = record;
    if (this.byNf.has(nf) || this.images.has(nf)) return null;
    if (!this.of(record)) return unknownNf(kind, nf, [...this.byNf.keys()]);
    if (this.runsAny) return null;
    return new DriverError(
      `this node does not run the programs of users: its operator has to start the agent with --legacy-nfs on`,
      instance_id,
      true,
    );
  }
}

/** A container of an image is a program whose command the image knows: Docker is told all that differs from it. */
function programOf({ forwarding, files, preserves }: ContainerImage): LegacyProgram {
  return { forwarding, files, preserves, setup: [], command: [], packages: [] };
}
