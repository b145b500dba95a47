// Sets the theme before the first paint; a file of its own because the content security policy refuses inline scripts.
(() => {
  let chosen = 'auto';
  try {
    chosen = localStorage.getItem('orrery.color-scheme') || 'auto';
  } catch {
    // Storage is refused: the system's choice stands.
  }
  const dark = chosen === 'dark' || (chosen === 'auto' && matchMedia('(prefers-color-scheme: dark)').matches);
  document.documentElement.setAttribute('data-mantine-color-scheme', dark ? 'dark' : 'light');
})();
