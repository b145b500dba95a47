import { Inject, Injectable } from '@nestjs/common';
import type { Calibration, Plan } from '@orrery/contract';
import { predictRunning } from '@orrery/planner';
import { CALIBRATION, type CalibrationView } from '../../ports/calibration.js';
import { DESCRIPTORS, type NfDescriptors } from '../../ports/descriptor-catalogue.js';
import { INFRASTRUCTURE, type InfrastructureStore } from '../../ports/infrastructure-store.js';

/**
 * Predictions for the plan that runs: its own, or, where the model was calibrated since it was made, those of the same plan
 * with the calibration of now.
 */
@Injectable()
export class RunningPredictions {
  private known: { readonly plan: Plan; readonly calibration: Calibration; readonly slos: Plan['slos'] } | null = null;

  constructor(
    @Inject(CALIBRATION) private readonly calibration: CalibrationView,
    @Inject(DESCRIPTORS) private readonly catalogue: NfDescriptors,
    @Inject(INFRASTRUCTURE) private readonly infrastructure: InfrastructureStore,
  ) {}

  of(plan: Plan): Plan['slos'] {
    const calibration = this.calibration.current;
    if (this.known?.plan === plan && this.known.calibration === calibration) return this.known.slos;
    const { infrastructure, revision } = this.infrastructure.current;
    // A plan of another infrastructure may use what this one does not have.
    const slos =
      revision === plan.infrastructure_revision
        ? predictRunning({ plan, infrastructure, descriptors: this.catalogue.all(), calibration })
        : plan.slos;
    this.known = { plan, calibration, slos };
    return slos;
  }
}
