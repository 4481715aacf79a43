// Reads the fields of a form.

/** @param {FormData} form @returns {Record<string, string>} without the spaces around the texts. */
export function textsOf(form) {
  const texts = [...form].map(([name, value]) => [
    name,
    typeof value === 'string' ? value.trim() : '',
  ])
  return Object.fromEntries(texts)
}
