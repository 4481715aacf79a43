// Finds the page in the hash of the URL, such as `#/payments/pay_...?tab=events`.
import { useEffect, useState } from 'preact/hooks'
import { withQuery } from './api.js'

/**
 * @typedef {object} Route
 * @property {string} page the first part of the path.
 * @property {string | undefined} id the second part.
 * @property {Record<string, string>} query
 */

/** @param {string} hash @returns {Route} */
function parseHash(hash) {
  const [path = '', query = ''] = hash.replace(/^#\/?/, '').split('?')
  const [page = '', id] = path.split('/').map(decode)
  return { page, id, query: Object.fromEntries(new URLSearchParams(query)) }
}

/** @param {string} text */
function decode(text) {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}

/** @param {string} page @param {import('./api.js').Query} [query] @param {string} [id] */
export function hrefOf(page, query = {}, id) {
  const path = id === undefined ? `#/${page}` : `#/${page}/${encodeURIComponent(id)}`
  return withQuery(path, query)
}

/** @param {string} href */
export const go = (href) => {
  location.hash = href
}

export function useRoute() {
  const [route, setRoute] = useState(() => parseHash(location.hash))
  useEffect(() => {
    const follow = () => setRoute(parseHash(location.hash))
    addEventListener('hashchange', follow)
    return () => removeEventListener('hashchange', follow)
  }, [])
  return route
}
