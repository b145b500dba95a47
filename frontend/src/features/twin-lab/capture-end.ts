import type { CaptureStatus } from '@orrery/contract';
import { countText } from '../../shared/format/number.js';

/** What ended the capture, and after what time; null: none of its limits and no user, or it has not ended. */
export function captureEnd({
  stopped_by,
  elapsed_s,
  request,
}: Pick<CaptureStatus, 'stopped_by' | 'elapsed_s' | 'request'>): string | null {
  if (stopped_by === null || elapsed_s === null) return null;
  const after = `${elapsed_s.toFixed(1)} s`;
  if (stopped_by === 'user') return `stopped by a user after ${after}`;
  return stopped_by === 'packets'
    ? `stopped at the limit of ${countText(request.packets)} packets after ${after}`
    : `stopped after ${after}`;
}
