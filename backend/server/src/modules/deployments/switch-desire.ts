import { Inject, Injectable } from '@nestjs/common';
import type { DriverChange, FabricSpec, Plan } from '@orrery/contract';
import { FABRIC, type FabricDriver, type FabricWait, type RuleChange } from '../../ports/fabric-driver.js';
import { INFRASTRUCTURE, type InfrastructureStore } from '../../ports/infrastructure-store.js';
import { type Desired, DesiredStore } from './desired-store.js';

const NO_CHANGE: RuleChange = { before: [], after: [] };

/** Makes the switches follow the desired state: first their drivers, where the phase changes some, then their rules. */
@Injectable()
export class SwitchDesire {
  constructor(
    @Inject(DesiredStore) private readonly state: DesiredStore,
    @Inject(INFRASTRUCTURE) private readonly infrastructure: InfrastructureStore,
    @Inject(FABRIC) private readonly fabric: FabricDriver,
  ) {}

  /** What a plan changes of the drivers as they are now. */
  changesOf({ drivers = [] }: Plan): DriverChange[] {
    const { switches } = this.infrastructure.current.infrastructure;
    return drivers.flatMap((planned) => {
      const from = switches.find(({ id }) => id === planned.switch)?.driver ?? planned.from;
      return from === planned.to ? [] : [{ ...planned, from }];
    });
  }

  /** Like `FabricDriver.apply`; it also rejects where the infrastructure refuses the drivers. */
  async apply(change: RuleChange, wait: FabricWait, by: string): Promise<void> {
    const changes = driversUnderWay(this.state.desired);
    if (changes.length > 0) await this.infrastructure.changeDrivers(changes, by);
    const rebuilt = changes.map((each) => each.switch);
    await this.fabric.apply(this.state.desired.fabric, change, { ...wait, rebuilt });
  }

  /** Tells the switches their rules once more, without waiting for any that is not able to take them. */
  restore(fabric: FabricSpec, signal: AbortSignal): Promise<void> {
    return this.fabric.apply(fabric, NO_CHANGE, { signal, for: 'able' });
  }
}

/** The drivers that switches get in the phase of the desired state. */
export function driversUnderWay({ phase, drivers = [] }: Desired): readonly DriverChange[] {
  return phase === 'steer' ? drivers : [];
}
