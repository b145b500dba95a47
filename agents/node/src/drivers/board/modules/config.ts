import type { z } from 'zod';
import { type Config, ConfigRefusal } from './module-adapter.js';

/**
 * Validates a configuration against its schema, with the same defaults as the NF's descriptor. Throws a ConfigRefusal.
 */
export function readConfig<S extends z.ZodType>(schema: S, config: Config): z.infer<S> {
  const parsed = schema.safeParse(config);
  if (parsed.success) return parsed.data;
  const { path, message } = parsed.error.issues[0]!;
  throw new ConfigRefusal(`/config${path.map((part) => `/${String(part)}`).join('')}`, message);
}
