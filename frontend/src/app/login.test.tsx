import { MantineProvider } from '@mantine/core';
import { render, screen } from '@testing-library/react';
import { MemoryRouter } from 'react-router';
import { expect, it } from 'vitest';
import { LoginPage } from './login.js';

it('says that each role may do what the roles below it may', () => {
  render(
    <MantineProvider env="test">
      <MemoryRouter>
        <LoginPage />
      </MemoryRouter>
    </MantineProvider>,
  );
  expect(screen.getByRole('option', { name: /^Designer: .* and everything of an operator$/ })).toBeTruthy();
});
