import type { SloStatus } from '@orrery/contract';
import { errorText, predictionError } from '../../shared/format/prediction.js';

export function ErrorText({ slo }: { readonly slo: SloStatus }) {
  const error = predictionError(slo);
  return (
    <span className={error === null ? 'muted' : undefined} title="Measured compared with predicted">
      {error === null ? '–' : errorText(error)}
    </span>
  );
}
