import { render } from '@testing-library/react';
import { expect, it } from 'vitest';
import { NfIcon } from './nf-icon.js';

const shipped = import.meta.glob<{ id: string; icon: string }>('../../../../agents/nfs/*/descriptor.json', {
  eager: true,
  import: 'default',
});

const drawn = (icon: string | undefined) => render(<NfIcon icon={icon} />).container.innerHTML;

it.each(Object.values(shipped).map(({ id, icon }) => [id, icon] as const))('%s has an icon of its own', (_, icon) => {
  expect(drawn(icon)).not.toBe(drawn(undefined));
});
