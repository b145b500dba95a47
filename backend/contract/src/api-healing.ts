import { z } from 'zod';
import { Id, Name } from './common.js';
import {
  ChainNotKept,
  HealingPolicy,
  HealingPolicyRequest,
  ListedPart,
  MaintenanceChange,
  MaintenanceEnd,
  MaintenanceRequest,
} from './healing.js';
import { Operation, pageOf } from './lifecycle.js';
import { defineRoutes } from './route-definition.js';
import { page } from './route-parameters.js';

const byPart = z.strictObject({ id: Name });
const byChain = z.strictObject({ chain_id: Id });

/** Parts out of service, and what heals by itself. */
export const HEALING_ROUTES = defineRoutes({
  getHealingPolicy: {
    method: 'GET',
    path: '/healing-policy',
    tag: 'healing',
    summary: 'Get what the server does by itself when a part is lost or back',
    role: 'viewer',
    status: 200,
    response: HealingPolicy,
    etag: true,
  },
  putHealingPolicy: {
    method: 'PUT',
    path: '/healing-policy',
    tag: 'healing',
    summary: 'Change what the server does by itself when a part is lost or back',
    role: 'operator',
    body: HealingPolicyRequest,
    status: 200,
    response: HealingPolicy,
    etag: true,
  },
  listOutOfService: {
    method: 'GET',
    path: '/out-of-service',
    tag: 'healing',
    summary: 'List servers and boards that are in maintenance, lost, or back and not used as before',
    role: 'viewer',
    query: page,
    status: 200,
    response: pageOf(ListedPart),
  },
  listChainsNotKept: {
    method: 'GET',
    path: '/chains-not-kept',
    tag: 'healing',
    summary: 'List chains that were taken down because they had no place',
    role: 'viewer',
    query: page,
    status: 200,
    response: pageOf(ChainNotKept),
  },
  deployNotKept: {
    method: 'POST',
    path: '/chains-not-kept/{chain_id}/deployment',
    tag: 'healing',
    summary: 'Deploy such a chain again now, as it ran; refused where it has no place',
    role: 'operator',
    params: byChain,
    status: 202,
    response: Operation,
    problems: [404, 409],
    location: true,
  },
  giveUpNotKept: {
    method: 'DELETE',
    path: '/chains-not-kept/{chain_id}',
    tag: 'healing',
    summary: 'Give such a chain up: it is not deployed again by itself, and its packets are not dropped any more',
    role: 'operator',
    params: byChain,
    status: 204,
    problems: [404, 409],
  },
  beginMaintenance: {
    method: 'POST',
    path: '/out-of-service/{id}/maintenance',
    tag: 'healing',
    summary: 'Drain a server or board: what runs there moves, and no plan uses it; refused where it cannot be drained',
    role: 'operator',
    params: byPart,
    body: MaintenanceRequest,
    status: 202,
    done_status: 200,
    response: MaintenanceChange,
    problems: [404, 409],
    location: true,
  },
  endMaintenance: {
    method: 'POST',
    path: '/out-of-service/{id}/service',
    tag: 'healing',
    summary: 'Bring a server or board back into service; what left it returns only if asked',
    role: 'operator',
    params: byPart,
    body: MaintenanceEnd,
    status: 202,
    done_status: 200,
    response: MaintenanceChange,
    problems: [404, 409],
    location: true,
  },
});
