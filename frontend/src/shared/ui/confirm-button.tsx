import { Button, type ButtonProps, Group, Popover, Text } from '@mantine/core';
import { type ReactNode, useState } from 'react';

interface ConfirmButtonProps extends ButtonProps {
  readonly children: ReactNode;
  /** What happens, as a question or a statement of consequence. */
  readonly message: ReactNode;
  readonly confirmLabel: string;
  readonly onConfirm: () => void;
}

/** A button for what interrupts traffic or loses work: asks at the place where it was pressed. */
export function ConfirmButton({ message, confirmLabel, onConfirm, children, ...button }: ConfirmButtonProps) {
  const [open, setOpen] = useState(false);
  return (
    <Popover opened={open} onChange={setOpen} trapFocus returnFocus withArrow shadow="md" width={280}>
      <Popover.Target>
        <Button variant="default" {...button} onClick={() => setOpen(!open)}>
          {children}
        </Button>
      </Popover.Target>
      <Popover.Dropdown aria-label={confirmLabel}>
        <Text size="sm" mb="sm">
          {message}
        </Text>
        <Group gap="xs" justify="flex-end">
          <Button variant="default" onClick={() => setOpen(false)}>
            Cancel
          </Button>
          <Button
            color="red"
            data-autofocus
            onClick={() => {
              setOpen(false);
              onConfirm();
            }}
          >
            {confirmLabel}
          </Button>
        </Group>
      </Popover.Dropdown>
    </Popover>
  );
}
