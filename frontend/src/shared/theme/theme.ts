import { type CSSVariablesResolver, createTheme, type MantineColorsTuple } from '@mantine/core';

const accent: MantineColorsTuple = [
  '#eef1fd',
  '#dbe1f8',
  '#b9c4f0',
  '#a3b3ff',
  '#8ea2ff',
  '#5f79e0',
  '#3d5bd0',
  '#3450bd',
  '#2a42a3',
  '#203482',
];

/** Failure and what destroys; white text on step 6 has a contrast of 6.5:1. */
const red: MantineColorsTuple = [
  '#fdecef',
  '#fad5dc',
  '#f4a9b6',
  '#f4748a',
  '#e2566e',
  '#d03a55',
  '#bd2541',
  '#a51d37',
  '#8b172e',
  '#701124',
];

/** Neutral steps; 4 to 9 carry dark surfaces, 0 to 3 their text. */
const dark: MantineColorsTuple = [
  '#e5e8eb',
  '#b9c0c7',
  '#9ba4ae',
  '#69727c',
  '#2b3036',
  '#1f2327',
  '#1c2024',
  '#16191c',
  '#0f1113',
  '#0b0d0e',
];

export const theme = createTheme({
  primaryColor: 'accent',
  primaryShade: 6,
  colors: { accent, red, dark },
  fontFamily: 'var(--o-font)',
  fontFamilyMonospace: 'var(--o-mono)',
  fontSizes: { xs: '12px', sm: '13px', md: '13px', lg: '15px', xl: '18px' },
  lineHeights: { xs: '16px', sm: '20px', md: '20px', lg: '22px', xl: '26px' },
  spacing: { xs: '4px', sm: '8px', md: '12px', lg: '16px', xl: '24px' },
  radius: { xs: '2px', sm: '4px', md: '4px', lg: '6px', xl: '8px' },
  defaultRadius: 'sm',
  headings: {
    fontFamily: 'var(--o-font)',
    fontWeight: '600',
    sizes: {
      h1: { fontSize: '16px', lineHeight: '24px' },
      h2: { fontSize: '13px', lineHeight: '20px' },
      h3: { fontSize: '13px', lineHeight: '20px' },
    },
  },
  cursorType: 'pointer',
  respectReducedMotion: true,
  components: {
    Button: { defaultProps: { size: 'xs' }, styles: { label: { fontWeight: 500 } } },
    ActionIcon: { defaultProps: { variant: 'subtle', color: 'gray' } },
    InputWrapper: { styles: { description: { fontSize: '12px', lineHeight: '16px' } } },
    TextInput: { defaultProps: { size: 'xs' } },
    NumberInput: { defaultProps: { size: 'xs' } },
    NativeSelect: { defaultProps: { size: 'xs' } },
    Select: {
      // A selection is cleared with the clear button, not by selecting it again.
      defaultProps: {
        size: 'xs',
        allowDeselect: false,
        withScrollArea: false,
        comboboxProps: { transitionProps: { duration: 80 } },
      },
      styles: { options: { maxHeight: '240px', overflowY: 'auto' } },
    },
    MultiSelect: { defaultProps: { size: 'xs' } },
    Textarea: { defaultProps: { size: 'xs' } },
    PasswordInput: { defaultProps: { size: 'sm' } },
    SegmentedControl: {
      defaultProps: { size: 'xs', transitionDuration: 80 },
      styles: { root: { background: 'var(--o-surface-sunken)' }, label: { fontWeight: 400 } },
    },
    Tooltip: { defaultProps: { openDelay: 350, transitionProps: { duration: 80 }, withinPortal: true } },
    Modal: { defaultProps: { transitionProps: { duration: 100 }, closeButtonProps: { 'aria-label': 'Close' } } },
    Drawer: { defaultProps: { transitionProps: { duration: 100 }, closeButtonProps: { 'aria-label': 'Close' } } },
    // A header element inside a dialog would be a second banner of the page.
    ModalHeader: { defaultProps: { component: 'div' } },
    DrawerHeader: { defaultProps: { component: 'div' } },
    // The first item takes the focus; Mantine's placeholder is no child that a menu may have.
    Menu: { defaultProps: { transitionProps: { duration: 80 }, withInitialFocusPlaceholder: false } },
  },
});

const colours = {
  '--mantine-color-body': 'var(--o-surface)',
  '--mantine-color-text': 'var(--o-text)',
  '--mantine-color-dimmed': 'var(--o-text-muted)',
  '--mantine-color-placeholder': 'var(--o-text-muted)',
  '--mantine-color-error': 'var(--o-failed)',
  '--mantine-color-default-border': 'var(--o-border)',
  '--mantine-color-anchor': 'var(--o-accent-text)',
};

/** Mantine's own colours, from the tokens: one source for both schemes, each of which Mantine would set by itself. */
export const cssVariables: CSSVariablesResolver = () => ({ variables: {}, light: colours, dark: colours });
