// Remembers the names of tenants, so that pages can show them instead of ids.
import { useEffect, useState } from 'preact/hooks'
import { read } from './api.js'

/** @typedef {import('../client/operators-schema.ts').components['schemas']['Tenant']} Tenant */

/** The newest tenants; the others are shown by their ids. */
const NAMED_MAX = 100

/** @type {Promise<Map<string, string>> | undefined} */
let names

/** @returns {Promise<Map<string, string>>} */
function readNames() {
  names ??= read(`/admin/tenants?limit=${NAMED_MAX}`, { background: true }).then(
    (/** @type {{ data: Tenant[] }} */ { data }) => new Map(data.map(({ id, name }) => [id, name])),
    () => {
      names = undefined
      return new Map()
    },
  )
  return names
}

/** After a tenant was created. */
export const forgetTenantNames = () => {
  names = undefined
}

function useTenantNames() {
  const [known, setKnown] = useState(/** @type {Map<string, string>} */ (new Map()))
  useEffect(() => {
    let isShown = true
    void readNames().then((found) => isShown && setKnown(found))
    return () => {
      isShown = false
    }
  }, [])
  return known
}

/** @param {string | null | undefined} id */
export function useTenantName(id) {
  return useTenantNames().get(id ?? '')
}
