import { Button } from '@mantine/core';
import { IconPlus } from '@tabler/icons-react';

export function AddButton({ what, onClick }: { readonly what: string; readonly onClick: () => void }) {
  return (
    <Button variant="subtle" size="compact-xs" leftSection={<IconPlus size={12} aria-hidden />} onClick={onClick}>
      Add {what}
    </Button>
  );
}
