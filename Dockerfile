# PostgreSQL with belay, on the official image.
#
#   docker build --build-arg PG_MAJOR=17 -t belay .
#   docker run -e POSTGRES_PASSWORD=secret belay
#
# The library is preloaded in every cluster that the image makes; then CREATE EXTENSION belay.
ARG PG_MAJOR=15

FROM postgres:${PG_MAJOR}-bookworm AS build
RUN apt-get update && \
    apt-get install -y --no-install-recommends g++ libpq-dev make postgresql-server-dev-$PG_MAJOR
WORKDIR /belay
COPY Makefile .
COPY src src
RUN make -j"$(nproc)" PG_CONFIG=/usr/lib/postgresql/$PG_MAJOR/bin/pg_config && \
    make install DESTDIR=/out PG_CONFIG=/usr/lib/postgresql/$PG_MAJOR/bin/pg_config

FROM postgres:${PG_MAJOR}-bookworm
COPY --from=build /out/ /
RUN echo "shared_preload_libraries = 'belay'" >>/usr/share/postgresql/$PG_MAJOR/postgresql.conf.sample
