import { render } from '@testing-library/react';
import { expect, it } from 'vitest';
import { BrokenName } from './broken-name.js';

it('may break behind the points of a name, and keeps the number with what it numbers', () => {
  const { container } = render(<BrokenName name="web.ids.0" />);
  expect(container.innerHTML).toBe('<span title="web.ids.0">web.<wbr>ids.0</span>');
  expect(container.textContent).toBe('web.ids.0');
});
