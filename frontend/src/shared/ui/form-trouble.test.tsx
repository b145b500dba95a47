import { render, screen } from '@testing-library/react';
import { describe, expect, it } from 'vitest';
import { ApiError } from '../api/client.js';
import { FormTrouble, fieldErrorOf } from './form-trouble.js';

const refusal = (detail: string, ...pointers: string[]) =>
  new ApiError({
    type: 'about:blank',
    title: 'Invalid content',
    status: 422,
    detail,
    errors: pointers.map((pointer) => ({ pointer, detail: 'must start with "/"' })),
  });

describe('FormTrouble', () => {
  it('says nothing that a field says already', () => {
    const error = refusal('/path: must start with "/"', '/path');
    render(<FormTrouble error={error} shown={['/path']} />);
    expect(screen.queryByRole('alert')).toBeNull();
    expect(fieldErrorOf(error, '/path')).toBe('must start with "/"');
  });

  it('says a fault of the body once', () => {
    render(<FormTrouble error={refusal('/path: must start with "/"', '/path')} shown={[]} />);
    expect(screen.getByRole('alert').textContent).toBe('/path: must start with "/"');
  });

  it('says what to do where somebody else has changed what the form shows', () => {
    const problem = { type: 'about:blank', title: 'Changed since it was read', status: 412, detail: 'At revision 2.' };
    render(<FormTrouble error={new ApiError(problem)} shown={[]} />);
    expect(screen.getByRole('alert').textContent).toMatch(/^Somebody else has changed this .* open it again/);
  });

  it('lists what the message leaves out', () => {
    render(<FormTrouble error={refusal('2 faults', '/path', '/port')} shown={['/path']} />);
    expect(screen.getAllByRole('listitem')).toHaveLength(2);
  });
});
