import { z } from 'zod';

/** Around a predicted latency: most windows of measurement are expected to show a value in it. */
export const PredictionBand = z.strictObject({ low_us: z.number().min(0), high_us: z.number().min(0) });
export type PredictionBand = z.infer<typeof PredictionBand>;
