import type { SloStatus } from '@orrery/contract';
import { errorText } from '../../shared/format/prediction.js';

export function ErrorText({ slo: { error } }: { readonly slo: Pick<SloStatus, 'error'> }) {
  return (
    <span className={error === null ? 'muted' : undefined} title="Measured compared with predicted">
      {error === null ? '–' : errorText(error)}
    </span>
  );
}
