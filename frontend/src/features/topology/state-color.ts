import type { Palette } from '../../shared/theme/palette.js';
import type { Frame } from './frame.js';

const STATE_COLOR: Record<string, keyof Palette> = {
  running: 'healthy',
  degraded: 'degraded',
  connected: 'healthy',
  failed: 'failed',
  disconnected: 'failed',
  starting: 'accent',
  stopping: 'accent',
  operating: 'healthy',
  absent: 'failed',
  active: 'healthy',
  faulty: 'failed',
  quiescing: 'accent',
  loading: 'accent',
  configuring: 'accent',
};

export function stateColor(state: string, { live, palette }: Frame): string {
  return palette[live.connected() ? (STATE_COLOR[state] ?? 'stale') : 'stale'];
}
