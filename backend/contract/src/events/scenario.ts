import { z } from 'zod';
import { Id, Name } from '../common.js';
import { event } from './declare.js';

const data = z.object({ run: Id, scenario: Name });

export const SCENARIO_EVENTS = {
  'scenario.started': event({ title: 'Scenario started', about: 'scenario-run', marks: true, data }),
  'scenario.completed': event({ title: 'Scenario completed', about: 'scenario-run', marks: true, data }),
  'scenario.stopped': event({ title: 'Scenario stopped', about: 'scenario-run', data }),
  'scenario.failed': event({ title: 'Scenario failed', about: 'scenario-run', severity: 'error', data }),
  'scenario.cleaned': event({ title: 'Scenario cleaned up', about: 'scenario-run', data }),
};
