import { z } from 'zod';
import { Name } from '../common.js';
import { SloStatus } from '../telemetry.js';
import { event } from './declare.js';

const { state, measured, target, unit } = SloStatus.shape;
const data = z.object({ slo_id: Name, measured, target, unit, from: state.nullable() });

export const SLO_EVENTS = {
  'slo.met': event({ title: 'Objective met', about: 'chain', data }),
  'slo.violated': event({ title: 'Objective violated', about: 'chain', severity: 'warning', data }),
  'slo.warming-up': event({ title: 'Objective not judged yet', about: 'chain', data }),
  'slo.no-data': event({ title: 'Objective without data', about: 'chain', data }),
  'slo.stale': event({ title: 'Objective out of date', about: 'chain', data }),
};
