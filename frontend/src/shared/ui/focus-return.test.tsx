import { MantineProvider } from '@mantine/core';
import { render, screen, waitFor } from '@testing-library/react';
import { userEvent } from '@testing-library/user-event';
import { useState } from 'react';
import { expect, it } from 'vitest';
import { FormDialog } from './form-dialog.js';

function Page() {
  const [opened, setOpened] = useState(false);
  return (
    <MantineProvider env="test">
      <button type="button" onClick={() => setOpened(true)}>
        Open
      </button>
      {opened && (
        <FormDialog title="Dialog" size={400} action={null} onSubmit={() => {}} onClose={() => setOpened(false)}>
          <input aria-label="Name" data-autofocus />
        </FormDialog>
      )}
    </MantineProvider>
  );
}

it('a dialog that Escape closes gives the focus back to the button that opened it', async () => {
  const user = userEvent.setup();
  render(<Page />);
  screen.getByRole('button', { name: 'Open' }).focus();
  await user.keyboard('{Enter}');
  await waitFor(() => expect(document.activeElement).toBe(screen.getByRole('textbox', { name: 'Name' })));
  await user.keyboard('{Escape}');
  expect(screen.queryByRole('dialog')).toBeNull();
  expect(document.activeElement).toBe(screen.getByRole('button', { name: 'Open' }));
});
