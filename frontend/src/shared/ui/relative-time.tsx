import { ageText, dateTimeText } from '../format/time.js';
import { useNow } from '../stream/clock.js';

/** Age of a time, updated every second; the time itself on hover. */
export function RelativeTime({ t_ms }: { readonly t_ms: number }) {
  const now = useNow();
  return (
    <time dateTime={new Date(t_ms).toISOString()} title={dateTimeText(t_ms)} className="tabular">
      {ageText(now - t_ms)}
    </time>
  );
}
