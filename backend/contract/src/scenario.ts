import { z } from 'zod';
import { Id, Name, TimestampMs } from './common.js';

/** A published experiment that the twin can run again. */
export const Scenario = z.strictObject({
  id: Name,
  title: z.string().max(80),
  summary: z.string().max(400),
  source: z.string().max(120).describe('where the experiment was published'),
  duration_s: z.number().positive().describe('about how long a run takes'),
  needs: z.array(z.string().max(120)).describe('what of the infrastructure it uses'),
});
export type Scenario = z.infer<typeof Scenario>;

/** A figure of a run beside the published one. */
export const ScenarioFigure = z.strictObject({
  name: z.string().max(120),
  unit: z.string().max(20),
  published: z.number().nullable(),
  here: z.number().nullable(),
  note: z.string().max(200).describe('what is modelled or scaled; empty: measured'),
});
export type ScenarioFigure = z.infer<typeof ScenarioFigure>;

export const ScenarioRun = z.strictObject({
  id: Id,
  scenario_id: Name,
  state: z.enum(['running', 'completed', 'failed', 'stopped']),
  steps: z.array(
    z.strictObject({
      title: z.string().max(160),
      state: z.enum(['pending', 'running', 'done', 'failed', 'skipped']),
      started_ms: TimestampMs.nullable(),
      ended_ms: TimestampMs.nullable(),
      detail: z.string().nullable(),
    }),
  ),
  figures: z.array(ScenarioFigure),
  pipelines: z.array(Id).describe('chains that the run made'),
  detail: z.string().nullable(),
  started_ms: TimestampMs,
  ended_ms: TimestampMs.nullable(),
});
export type ScenarioRun = z.infer<typeof ScenarioRun>;
