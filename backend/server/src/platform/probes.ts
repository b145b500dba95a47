import type { Capability, Health } from '@orrery/contract';

export const PROBES = Symbol('Probes');
type HealthPart = Health['parts'][number];

/** Where modules register their health and the machine's capabilities. */
export class Probes {
  private readonly healthProbes: (() => Promise<HealthPart[]> | HealthPart[])[] = [];
  private readonly capabilityProbes: (() => Promise<Capability[]> | Capability[])[] = [];

  onHealth(probe: () => Promise<HealthPart[]> | HealthPart[]): void {
    this.healthProbes.push(probe);
  }

  onCapabilities(probe: () => Promise<Capability[]> | Capability[]): void {
    this.capabilityProbes.push(probe);
  }

  async health(): Promise<HealthPart[]> {
    return (await Promise.all(this.healthProbes.map((probe) => probe()))).flat();
  }

  async capabilities(): Promise<Capability[]> {
    return (await Promise.all(this.capabilityProbes.map((probe) => probe()))).flat();
  }
}
