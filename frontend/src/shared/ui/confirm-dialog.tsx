import { Button, Group, Modal, Text } from '@mantine/core';

export interface Question {
  title: string;
  message: string;
  confirm: string;
  run: () => void;
}

/** Asks before something that interrupts traffic or loses work. */
export function ConfirmDialog({
  question,
  onClose,
}: {
  readonly question: Question | null;
  readonly onClose: () => void;
}) {
  return (
    <Modal
      opened={question !== null}
      onClose={onClose}
      title={question?.title}
      closeButtonProps={{ 'aria-label': 'Close' }}
      centered
      size="sm"
    >
      <Text size="sm" mb="md">
        {question?.message}
      </Text>
      <Group gap="xs" justify="flex-end">
        <Button variant="default" onClick={onClose}>
          Cancel
        </Button>
        <Button
          color="red"
          data-autofocus
          onClick={() => {
            question?.run();
            onClose();
          }}
        >
          {question?.confirm}
        </Button>
      </Group>
    </Modal>
  );
}
