// Knows who is logged in. The cookie of the session is out of reach of scripts; this keeps what the
// service says about the session.
import { useEffect, useState } from 'preact/hooks'

/**
 * @typedef {import('../client/operators-schema.ts').components['schemas']['ConsoleSession']} Session
 * @typedef {{ session: Session | undefined, ended: boolean }} State `ended`: there was one before.
 */

/** @type {State} */
let state = { session: undefined, ended: false }

/** @type {Set<(state: State) => void>} */
const watchers = new Set()

/** @param {State} next */
function set(next) {
  state = next
  for (const watch of watchers) watch(state)
}

/** @param {Session} session */
export const beginSession = (session) => set({ session, ended: false })

/** The service has ended the session. Asked again, it changes nothing. */
export function endSession() {
  if (state.session !== undefined) set({ session: undefined, ended: true })
}

export const leaveSession = () => set({ session: undefined, ended: false })

export const csrfToken = () => state.session?.csrf_token ?? ''

export function useSession() {
  const [seen, see] = useState(state)
  useEffect(() => {
    watchers.add(see)
    see(state)
    return () => void watchers.delete(see)
  }, [])
  return seen
}

/** Whether the operator may change something. The service refuses the changes of a viewer anyway. */
export const useMayChange = () => useSession().session?.role === 'operator'
