import { Button } from '@mantine/core';
import type { ReactNode } from 'react';

interface ReadingButtonProps {
  readonly isReading: boolean;
  readonly onClick: () => void;
  readonly children: ReactNode;
}

/**
 * Opens a dialog once what it shows is read. It is not disabled meanwhile: a disabled button loses the focus, which the dialog could
 * then not give back.
 */
export function ReadingButton({ isReading, onClick, children }: ReadingButtonProps) {
  return (
    <Button variant="default" aria-busy={isReading || undefined} onClick={() => isReading || onClick()}>
      {children}
    </Button>
  );
}
