import { z } from 'zod';
import { Name } from './common.js';
import { LearnAnswer, LearnRequest } from './learnt-profile.js';
import { pageOf } from './lifecycle.js';
import { CataloguedNf, NfDescriptor } from './nf-descriptor.js';
import { defineRoutes } from './route-definition.js';
import { byId, pageWith } from './route-parameters.js';

const byName = z.strictObject({ id: Name });

/** The catalogue of NFs; users add legacy NFs of their own to it. */
export const NF_DESCRIPTOR_ROUTES = defineRoutes({
  listNfDescriptors: {
    method: 'GET',
    path: '/nf-descriptors',
    tag: 'catalogue',
    summary: 'List the network functions that chains can use',
    role: 'viewer',
    query: pageWith({ category: NfDescriptor.shape.category.optional() }),
    status: 200,
    response: pageOf(CataloguedNf),
  },
  createNfDescriptor: {
    method: 'POST',
    path: '/nf-descriptors',
    tag: 'catalogue',
    summary:
      'Describe a legacy NF under an unused id: an unmodified program that servers run where their operators allow it',
    role: 'admin',
    body: NfDescriptor,
    status: 201,
    response: CataloguedNf,
    location: true,
    creates: true,
    etag: true,
  },
  getNfDescriptor: {
    method: 'GET',
    path: '/nf-descriptors/{id}',
    tag: 'catalogue',
    summary: 'Get a network function',
    role: 'viewer',
    params: byId,
    status: 200,
    response: CataloguedNf,
    problems: [404],
    etag: true,
  },
  putNfDescriptor: {
    method: 'PUT',
    path: '/nf-descriptors/{id}',
    tag: 'catalogue',
    summary:
      'Replace the description of a legacy NF by one with a higher version; refused while a deployed chain uses it',
    role: 'admin',
    params: byName,
    body: NfDescriptor,
    status: 200,
    response: CataloguedNf,
    problems: [404, 409],
    etag: true,
  },
  deleteNfDescriptor: {
    method: 'DELETE',
    path: '/nf-descriptors/{id}',
    tag: 'catalogue',
    summary: 'Remove the description of a legacy NF; refused while a chain uses it',
    role: 'admin',
    params: byName,
    status: 204,
    problems: [404, 409],
    etag: true,
  },
  learnNfDescriptor: {
    method: 'POST',
    path: '/nf-descriptors/{id}/learn',
    tag: 'catalogue',
    summary: 'Have plans reckon with what running instances measure of an NF; refused where too little is measured',
    role: 'admin',
    params: byName,
    body: LearnRequest,
    status: 200,
    response: LearnAnswer,
    problems: [404, 409],
  },
  forgetNfDescriptor: {
    method: 'DELETE',
    path: '/nf-descriptors/{id}/learn',
    tag: 'catalogue',
    summary: 'Have plans reckon with the declared profiles of an NF again',
    role: 'admin',
    params: byName,
    status: 204,
    problems: [404],
  },
});
