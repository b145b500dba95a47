import type { Calibration } from '@orrery/contract';

export const CALIBRATION = Symbol('CalibrationView');

/** What the planner's model of latency lacks on the servers, as measured. */
export interface CalibrationView {
  readonly current: Calibration;
}
