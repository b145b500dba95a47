import { z } from 'zod';
import { ApplicationKindInfo, ApplicationState } from './applications/application.js';
import { Application, ApplicationDefinition } from './applications/definition.js';
import { Name } from './common.js';
import { pageOf } from './lifecycle.js';
import { defineRoutes } from './route-definition.js';
import { page, pageWith } from './route-parameters.js';

const byName = z.strictObject({ id: Name });

/** Programs on hosts and nodes. */
export const APPLICATION_ROUTES = defineRoutes({
  listApplicationKinds: {
    method: 'GET',
    path: '/application-kinds',
    tag: 'applications',
    summary: 'List application kinds, each with the JSON Schema of its configuration',
    role: 'viewer',
    query: page,
    status: 200,
    response: pageOf(ApplicationKindInfo),
  },
  listApplications: {
    method: 'GET',
    path: '/applications',
    tag: 'applications',
    summary: 'List declared applications with their status',
    role: 'viewer',
    query: pageWith({ kind: z.string().max(40).optional(), node: Name.optional(), state: ApplicationState.optional() }),
    status: 200,
    response: pageOf(Application),
  },
  createApplication: {
    method: 'POST',
    path: '/applications',
    tag: 'applications',
    summary: 'Declare an application under an unused id',
    role: 'operator',
    body: ApplicationDefinition,
    status: 201,
    response: Application,
    location: true,
    creates: true,
    etag: true,
  },
  getApplication: {
    method: 'GET',
    path: '/applications/{id}',
    tag: 'applications',
    summary: 'Get an application',
    role: 'viewer',
    params: byName,
    status: 200,
    response: Application,
    problems: [404],
    etag: true,
  },
  putApplication: {
    method: 'PUT',
    path: '/applications/{id}',
    tag: 'applications',
    summary: 'Declare or replace an application. `enabled` starts or stops it; an equal definition changes nothing',
    role: 'operator',
    params: byName,
    body: ApplicationDefinition,
    status: 200,
    response: Application,
    problems: [404, 409],
    etag: true,
  },
  restartApplication: {
    method: 'POST',
    path: '/applications/{id}/restarts',
    tag: 'applications',
    summary: 'Restart an application',
    role: 'operator',
    params: byName,
    status: 202,
    response: Application,
    problems: [404, 409],
    etag: true,
  },
  deleteApplication: {
    method: 'DELETE',
    path: '/applications/{id}',
    tag: 'applications',
    summary: 'Stop and delete an application',
    role: 'operator',
    params: byName,
    status: 204,
    problems: [404],
    etag: true,
  },
});
