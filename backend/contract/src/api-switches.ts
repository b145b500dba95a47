import { z } from 'zod';
import { Id, Name } from './common.js';
import { pageOf } from './lifecycle.js';
import { PacketTraces, TraceRequest } from './packet-trace.js';
import { defineRoutes } from './route-definition.js';
import { page, pageWith } from './route-parameters.js';
import { SwitchTable } from './switch-spec.js';
import { SwitchEntryState, SwitchRuleState, SwitchState } from './switch-state.js';

const byName = z.strictObject({ id: Name });

/** The switches of the infrastructure with their entries. */
export const SWITCH_ROUTES = defineRoutes({
  listSwitches: {
    method: 'GET',
    path: '/switches',
    tag: 'switches',
    summary: 'List switches: abilities, planned and installed entries, ports',
    role: 'viewer',
    query: page,
    status: 200,
    response: pageOf(SwitchState),
  },
  getSwitch: {
    method: 'GET',
    path: '/switches/{id}',
    tag: 'switches',
    summary: 'Get a switch',
    role: 'viewer',
    params: byName,
    status: 200,
    response: SwitchState,
    problems: [404],
  },
  listSwitchRules: {
    method: 'GET',
    path: '/switches/{id}/rules',
    tag: 'switches',
    summary: 'List the fabric rules of a switch with their counters',
    role: 'viewer',
    params: byName,
    query: page,
    status: 200,
    response: pageOf(SwitchRuleState),
    problems: [404],
  },
  listSwitchEntries: {
    method: 'GET',
    path: '/switches/{id}/entries',
    tag: 'switches',
    summary: 'List the planned entries of a switch with their counters',
    role: 'viewer',
    params: byName,
    query: pageWith({ table: SwitchTable.optional(), chain_id: Id.optional(), rule_id: Id.optional() }),
    status: 200,
    response: pageOf(SwitchEntryState),
    problems: [404],
  },
  armTraces: {
    method: 'POST',
    path: '/switches/{id}/traces',
    tag: 'switches',
    summary: 'Have the next packets of a switch leave a trace of what the switch does with them',
    role: 'operator',
    params: byName,
    body: TraceRequest,
    status: 200,
    response: PacketTraces,
    problems: [404, 409, 502],
  },
  listTraces: {
    method: 'GET',
    path: '/switches/{id}/traces',
    tag: 'switches',
    summary: 'List traces of packets, oldest first',
    role: 'viewer',
    params: byName,
    query: z.strictObject({
      after: z.coerce.number().int().min(0).default(0).describe('sequence number of the last trace that is known'),
    }),
    status: 200,
    response: PacketTraces,
    problems: [404, 409, 502],
  },
});
