-- Creates the login of the API and the workers. Runs once, when docker-compose.yml initializes the
-- database. The login is only a member of the service's role. The migration grants that role its
-- rights.
\getenv app_password APP_PASSWORD
create role atomic_payments_service nologin;
create role atomic_payments_app login password :'app_password' in role atomic_payments_service;
