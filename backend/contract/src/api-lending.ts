import { z } from 'zod';
import { TimestampMs } from './common.js';
import { LendingGroup, LendingGroupRequest, LendingTurn } from './lending.js';
import { pageOf } from './lifecycle.js';
import { defineRoutes } from './route-definition.js';
import { byId, page, pageWith } from './route-parameters.js';

/** Accelerators that VNFs take turns at. */
export const LENDING_ROUTES = defineRoutes({
  listLendingGroups: {
    method: 'GET',
    path: '/lending-groups',
    tag: 'lending',
    summary: 'List groups of VNFs that are lent accelerators in turn, with holders, usage and fairness',
    role: 'viewer',
    query: page,
    status: 200,
    response: pageOf(LendingGroup),
  },
  createLendingGroup: {
    method: 'POST',
    path: '/lending-groups',
    tag: 'lending',
    summary: 'Create a lending group',
    role: 'operator',
    body: LendingGroupRequest,
    status: 201,
    response: LendingGroup,
    location: true,
    creates: true,
    etag: true,
  },
  getLendingGroup: {
    method: 'GET',
    path: '/lending-groups/{id}',
    tag: 'lending',
    summary: 'Get a lending group',
    role: 'viewer',
    params: byId,
    status: 200,
    response: LendingGroup,
    problems: [404],
    etag: true,
  },
  putLendingGroup: {
    method: 'PUT',
    path: '/lending-groups/{id}',
    tag: 'lending',
    summary: 'Replace a lending group; new settings apply at once, to present holders, too',
    role: 'operator',
    params: byId,
    body: LendingGroupRequest,
    status: 200,
    response: LendingGroup,
    problems: [404],
    etag: true,
  },
  deleteLendingGroup: {
    method: 'DELETE',
    path: '/lending-groups/{id}',
    tag: 'lending',
    summary: 'Delete a lending group; holders go back to software',
    role: 'operator',
    params: byId,
    status: 204,
    problems: [404],
    etag: true,
  },
  listLendingTurns: {
    method: 'GET',
    path: '/lending-groups/{id}/turns',
    tag: 'lending',
    summary:
      'List who had an accelerator from when to when, and why, newest first; the last 500 of each group are kept',
    role: 'viewer',
    params: byId,
    query: pageWith({
      since: z.coerce
        .number()
        .pipe(TimestampMs)
        .optional()
        .describe('only turns that ended after this time, or have not'),
    }),
    status: 200,
    response: pageOf(LendingTurn),
    problems: [404],
  },
});
