import { Tooltip } from '@mantine/core';
import type { ReactNode } from 'react';

interface ReasonProps {
  /** Why the control is disabled; null: it is not. */
  readonly of: string | null;
  readonly children: ReactNode;
}

/** Says why the control in it is disabled. */
export function Reason({ of, children }: ReasonProps) {
  return (
    <Tooltip label={of} disabled={of === null}>
      <span title={of ?? undefined}>{children}</span>
    </Tooltip>
  );
}
