import { z } from 'zod';
import { Id, Name } from '../common.js';
import { AlertRule, SloAlert, SloCause } from '../slos.js';
import { SloStatus } from '../telemetry.js';
import { event } from './declare.js';

const { state, measured, target, unit } = SloStatus.shape;
const data = z.object({ slo_id: Name, measured, target, unit, from: state.nullable() });

const ofAlert = { alert_id: Id, slo_id: Name };
const { burn_long, burn_short, left_share, resolution } = SloAlert.shape;

export const SLO_EVENTS = {
  'slo.met': event({ title: 'Objective met', about: 'chain', data }),
  'slo.violated': event({ title: 'Objective violated', about: 'chain', severity: 'warning', data }),
  'slo.warming-up': event({ title: 'Objective not judged yet', about: 'chain', data }),
  'slo.no-data': event({ title: 'Objective without data', about: 'chain', data }),
  'slo.stale': event({ title: 'Objective out of date', about: 'chain', data }),
  'slo.budget-begun': event({
    title: 'Budget of an objective begins anew',
    about: 'chain',
    data: z.object({ slo_id: Name }),
  }),
  'slo.uncounted': event({
    title: 'Objectives without a budget',
    about: 'chain',
    severity: 'warning',
    data: z.object({ slo_id: Name.describe('the first of them') }),
  }),
  'slo.alert-fired': event({
    title: 'Budget of an objective burns too fast',
    about: 'chain',
    severity: ({ rule }) => rule.severity,
    data: z.object({ ...ofAlert, rule: AlertRule, burn_long, burn_short, left_share, cause: SloCause.nullable() }),
  }),
  'slo.alert-resolved': event({
    title: 'Budget of an objective burns no more',
    about: 'chain',
    marks: true,
    data: z.object({ ...ofAlert, resolution: resolution.unwrap() }),
  }),
  'slo.alert-acknowledged': event({
    title: 'Alert acknowledged',
    about: 'chain',
    data: z.object({ ...ofAlert, note: z.string() }),
  }),
};
