import { z } from 'zod';
import { Id, Name } from './common.js';
import { pageOf } from './lifecycle.js';
import { defineRoutes } from './route-definition.js';
import { byId, pageWith } from './route-parameters.js';
import { AcknowledgeRequest, SloAlert, SloHistory } from './slos.js';

/** Points of one answer. */
export const SLO_HISTORY_POINTS = 2000;

/** Budgets of objectives over time, and the alerts about them. */
export const SLO_ROUTES = defineRoutes({
  getSloHistory: {
    method: 'GET',
    path: '/slos/{chain_id}/{slo_id}/history',
    tag: 'slos',
    summary: 'Get how an objective was met, step by step: to 10 s for the last six hours, to 5 min for its period',
    role: 'viewer',
    params: z.strictObject({ chain_id: Id, slo_id: Name }),
    query: z.strictObject({
      from: z.coerce.number().min(0).optional().describe('ms since the Unix epoch; absent: `span` before `to`'),
      span: z.coerce
        .number()
        .int()
        .min(10)
        .max(90 * 86_400)
        .optional()
        .describe('seconds before `to`, in place of `from`; absent: an hour'),
      to: z.coerce.number().min(0).optional().describe('absent: now'),
      step: z.coerce
        .number()
        .int()
        .min(10)
        .max(86_400)
        .multipleOf(10)
        .optional()
        .describe('seconds; absent: the shortest for at most 361 points'),
    }),
    status: 200,
    response: SloHistory,
    problems: [404],
  },
  listSloAlerts: {
    method: 'GET',
    path: '/slo-alerts',
    tag: 'slos',
    summary: 'List alerts about error budgets that burn too fast: open ones first, the worst first',
    role: 'viewer',
    query: pageWith({
      chain_id: Id.optional(),
      slo_id: Name.optional(),
      state: SloAlert.shape.state.optional(),
    }),
    status: 200,
    response: pageOf(SloAlert),
  },
  acknowledgeSloAlert: {
    method: 'POST',
    path: '/slo-alerts/{id}/acknowledge',
    tag: 'slos',
    summary: 'Say that somebody has taken note of an alert; the last note counts',
    role: 'operator',
    params: byId,
    body: AcknowledgeRequest,
    status: 200,
    response: SloAlert,
    problems: [404],
  },
});
