import { z } from 'zod';
import { Id, Name } from '../common.js';
import { Fault } from '../twin-api.js';
import { event, twinEvent, twinEventOfChains } from './declare.js';

const ofFault = z.object({ fault_id: Id });

/** Changes to the twin through the API, and what the server observes about twind. */
export const TWIN_CONTROL_EVENTS = {
  'infrastructure.changed': event({
    title: 'Infrastructure changed',
    about: 'infrastructure',
    data: z.object({ revision: z.int() }),
  }),
  'twin.lost': event({ title: 'Twin lost', about: 'twin', severity: 'error', data: z.object({}) }),
  'twin.refused': event({ title: 'Twin refused a change', about: 'twin', severity: 'error', data: z.object({}) }),
  'twin.event': event({
    title: 'Event of an unknown type',
    about: 'twin',
    severity: 'warning',
    data: z.object({ event: z.string().max(100) }),
  }),

  'fault.injected': event({
    title: 'Fault injected',
    about: 'fault',
    severity: 'warning',
    data: z.object({ ...ofFault.shape, kind: Fault.shape.kind, target: Name, slot: Fault.shape.slot }),
  }),
  'fault.cleared': event({ title: 'Fault cleared', about: 'fault', marks: true, data: ofFault }),
  'pcap.uploaded': event({ title: 'Capture uploaded', about: 'pcap', data: z.object({ packets: z.int() }) }),
  'pcap.deleted': event({ title: 'Capture deleted', about: 'pcap', data: z.object({}) }),
};

/** Reported by twind. */
export const TWIN_EVENTS = {
  'twin.up': twinEvent('Twin up', 'infrastructure'),
  'twin.failed': twinEvent('Twin failed', 'twin', 'error'),
  'twin.applications-failed': twinEvent('Applications cannot be supervised', 'twin', 'error'),
  'watch.overflow': twinEvent('Events of the twin lost', 'twin', 'warning'),

  'agent.started': twinEvent('Agent started', 'node'),
  'agent.exited': twinEventOfChains('Agent exited', 'node', 'warning'),
  'agent.killed': twinEventOfChains('Agent killed', 'node', 'warning'),
  'engine.killed': twinEventOfChains('Engine killed', 'node', 'warning'),

  'board.started': twinEvent('Board started', 'board'),
  'board.exited': twinEvent('Board exited', 'board', 'warning'),
  'board.failed': twinEvent('Board failed to start', 'board', 'error'),
  'board.killed': twinEvent('Board switched off', 'board', 'warning'),
  'slot.stuck': twinEvent('Slot made to hang', 'board', 'warning'),
  'slot.cleared': twinEvent('Slot works again', 'board'),

  'container-engine.started': twinEvent('Container engine started', 'twin'),
  'container-engine.exited': twinEvent('Container engine exited', 'twin', 'warning'),
  'container-engine.ready': twinEvent('Container engine ready', 'twin'),
  'container-engine.stuck': twinEvent('Containers not removed', 'twin', 'warning'),

  'switch.restarted': twinEvent('Switch restarted', 'switch', 'warning'),
  'switch.started': twinEvent('P4 switch started', 'switch'),
  'switch.exited': twinEvent('P4 switch exited', 'switch', 'error'),
  'switch.hung': twinEvent('P4 switch hung', 'switch', 'error'),
  'switch.refused': twinEvent('P4 switch refused its ports', 'switch', 'error'),
  'switch.small-buffers': twinEvent('Small buffers at the switch', 'switch', 'warning'),
  'link.up': twinEvent('Link up', 'link'),
  'link.down': twinEvent('Link down', 'link', 'warning'),
  'link.failed': twinEvent('Link failed', 'link', 'error'),
  'delay-line.started': twinEvent('Delay line started', 'twin'),
  'delay-line.exited': twinEvent('Delay line exited', 'twin', 'error'),
  'delay-line.hung': twinEvent('Delay line hung', 'twin', 'error'),
  'delay-line.refused': twinEvent('Delay line refused its links', 'twin', 'error'),
  'links.read': twinEvent('Links readable', 'twin'),
  'links.unread': twinEvent('Links not readable', 'twin', 'warning'),

  'capture.completed': twinEvent('Capture completed', 'capture'),
};
